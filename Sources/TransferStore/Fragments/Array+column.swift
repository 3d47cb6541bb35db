extension Array {
    /// These values as a column for `unnest`: none if all are NULL.
    ///
    /// `unnest` reads what an array lacks beside longer ones as NULL, while each element that is
    /// there is sent, read and stored on the way, whatever it is.
    func column<Value>() -> [Value?] where Element == Value? {
        allSatisfy { $0 == nil } ? [] : self
    }
}
