import Foundation

/// The encoder of answers and messages.
public enum WireEncoder {
    /// Returns the JSON of `value`, with the same bytes whenever and wherever it is encoded.
    ///
    /// - Throws: for what JSON has no form for: a number that is not finite, or a date outside of
    ///   the years 1 to 9999. No answer of the service has one.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }
}
