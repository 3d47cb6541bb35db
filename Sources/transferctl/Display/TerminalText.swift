/// Text that strangers have written, as a terminal may show it.
enum TerminalText {
    /// Returns the text with every character that a terminal would obey, or that would hide or
    /// reorder others, written as its number.
    static func safe(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
                .unassigned:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns the number of cells that safe text takes.
    static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

    /// Returns the text cut to at most `cells`, with a mark where it was cut.
    static func cut(_ text: String, to cells: Int) -> String {
        guard width(text) > cells else { return text }
        guard cells > 1 else { return String(repeating: "…", count: max(cells, 0)) }
        var result = ""
        var used = 1
        for character in text {
            used += width(character)
            guard used <= cells else { break }
            result.append(character)
        }
        return "\(result)…"
    }

    /// Returns the text followed by spaces up to `cells`.
    static func padded(_ text: String, to cells: Int) -> String {
        text + String(repeating: " ", count: max(0, cells - width(text)))
    }

    /// Wide are the characters of East Asia and emoji (Unicode Standard Annex 11).
    private static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.properties.generalCategory == .nonspacingMark { return 0 }
        let wide: [ClosedRange<UInt32>] = [
            0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
        ]
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
}
