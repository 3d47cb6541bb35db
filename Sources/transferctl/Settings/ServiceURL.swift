import Foundation

/// The form of a service's URL.
enum ServiceURL {
    /// What is told about a URL of another form.
    static let rule = "The URL of a service starts with http:// or https:// and names a host."

    /// Returns whether requests can be sent to a URL.
    static func isUsable(_ text: String) -> Bool {
        guard let url = URLComponents(string: text), let scheme = url.scheme else { return false }
        return ["http", "https"].contains(scheme.lowercased()) && url.host?.isEmpty == false
    }
}
