/// The version that this program tells; that of `transferd`.
enum Version {
    static let current = "0.1.0"
}
