import Foundation

/// The demo's format for numbers and text of others.
enum Text {
    static func mebibytes(_ count: Int64) -> String {
        String(format: "%.1f", Double(count) / 1_048_576)
    }

    static func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }

    static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Returns the start of `text` in quotes, with everything escaped that a terminal would act on.
    static func excerpt(_ text: String, length: Int) -> String {
        let scalars = text.unicodeScalars
        let front = scalars.prefix(length).map { scalar in
            isVisible(scalar) ? String(scalar) : scalar.escaped(asASCII: true)
        }
        return "\"\(front.joined())\(scalars.count > length ? "…" : "")\""
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
            .unassigned:
            false
        default: true
        }
    }
}
