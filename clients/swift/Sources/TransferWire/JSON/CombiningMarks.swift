/// The bound of combining marks in texts that are compared.
///
/// Swift compares and hashes texts in a normal form, for which it sorts the marks that follow one
/// another, in a time that grows with the square of their number: for 60 KB of them, a third of a
/// second for each comparison and each hash. What a client sends is checked before that.
public enum CombiningMarks {
    /// The maximum number of marks in a row, as in texts of the Stream-Safe Text Format (UAX #15,
    /// section 13); words of all languages have fewer than ten.
    public static let rowMax = 30

    /// Returns whether a text has more marks in a row than ``rowMax``.
    public static func areTooMany(in text: String) -> Bool {
        guard text.utf8.count > 2 * rowMax, mayHaveMarks(text.utf8) else { return false }
        var row = 0
        for scalar in text.unicodeScalars {
            let isMark = scalar.properties.canonicalCombiningClass != .notReordered
            row = isMark ? row + 1 : 0
            if row > rowMax { return true }
        }
        return false
    }

    /// Returns whether there may be marks: each has at least two bytes, and the first of them all,
    /// U+0300, begins with 0xCC.
    private static func mayHaveMarks(_ text: String.UTF8View) -> Bool {
        // As contiguous bytes, which take a tenth of the time of a text's own iterator.
        text.withContiguousStorageIfAvailable { bytes in bytes.contains { $0 >= 0xCC } }
            ?? text.contains { $0 >= 0xCC }
    }
}
