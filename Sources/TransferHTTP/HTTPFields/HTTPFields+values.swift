import HTTPTypes

extension HTTPFields {
    /// Returns the value of the field with a name, or those of several as the subscript joins them;
    /// nil without one.
    ///
    /// The subscript also joins a single value, which takes several times as long.
    func value(of name: HTTPField.Name) -> String? {
        guard let first = firstIndex(where: { $0.name == name }) else { return nil }
        let isOnly = !self[index(after: first)...].contains { $0.name == name }
        return isOnly ? self[first].value : self[name]
    }

    /// Sets a field, which is seldom there already.
    ///
    /// The subscript takes several times as long to find out that it is not.
    mutating func set(_ field: HTTPField) {
        if contains(field.name) { self[field.name] = field.value } else { append(field) }
    }

    /// The number of bytes of the body as the head announces it; nil without a usable announcement
    /// (RFC 9110 §8.6).
    var contentLength: Int? { value(of: .contentLength).flatMap { Int($0) } }
}
