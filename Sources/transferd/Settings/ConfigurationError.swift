import Glibc

/// What is wrong with the settings, all of it.
struct ConfigurationError: Error, CustomStringConvertible {
    let problems: [String]

    var description: String { problems.joined(separator: "\n") }
}
