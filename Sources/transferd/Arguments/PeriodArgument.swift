import ArgumentParser
import Foundation

/// A period as an operator writes it: a number and `d`, `h` or `m`, up to ten years.
struct PeriodArgument: ExpressibleByArgument {
    /// The length in seconds.
    let seconds: TimeInterval

    private static let secondsMax = 3650 * 86400

    init?(argument: String) {
        let unit =
            switch argument.last {
            case "d": 86400
            case "h": 3600
            case "m": 60
            default: 0
            }
        guard unit > 0, let count = Int(argument.dropLast()),
            (1...Self.secondsMax / unit).contains(count)
        else { return nil }
        seconds = TimeInterval(count * unit)
    }
}
