import Glibc

/// All problems with the settings.
struct ConfigurationError: Error, CustomStringConvertible {
    let problems: [String]

    var description: String { problems.joined(separator: "\n") }
}
