import TransferWire

extension RawRepresentable where RawValue == String {
    /// Returns the case that a client names with `text`; nil for any other text, and for one that
    /// would take long to compare.
    init?(word text: String) {
        guard !CombiningMarks.areTooMany(in: text) else { return nil }
        self.init(rawValue: text)
    }
}
