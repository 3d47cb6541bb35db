import ArgumentParser

/// What this program is called to others.
enum Version {
    static let current = "0.1.0"
}
