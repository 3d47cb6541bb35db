/// The version that this program tells others.
enum Version {
    static let current = "0.1.0"
}
