/// Any name in a JSON object, or any index in an array.
public struct AnyKey: CodingKey {
    /// The name, or the index as text.
    public let stringValue: String
    /// The index; nil for a name.
    public let intValue: Int?

    /// Creates the value from its parts.
    public init(stringValue: String) {
        self.stringValue = stringValue
        self.intValue = nil
    }

    /// Creates the value from its parts.
    public init(intValue: Int) {
        self.stringValue = String(intValue)
        self.intValue = intValue
    }
}
