import Foundation

/// The encoder of answers and messages.
public enum WireEncoder {
    /// Returns the JSON of `value`, with the same bytes whenever and wherever it is encoded.
    ///
    /// - Throws: never for the types of this target, whose numbers are all finite.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }
}
