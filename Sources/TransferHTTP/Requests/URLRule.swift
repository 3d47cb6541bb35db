import Foundation

/// The rules for URLs, in words.
enum URLRule {
    static let task =
        "Must be an absolute http or https URL of at most \(WebURL.bytesMax) ASCII characters, "
        + "without user name and password, and its host of at most \(WebURL.hostBytesMax)."
    static let endpoint =
        "Must be an absolute http or https URL of at most \(WebURL.bytesMax) ASCII characters, "
        + "without user name, password and fragment, and its host of at most "
        + "\(WebURL.hostBytesMax)."
}
