/// A value that ``JSONReader`` reads.
protocol JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal)
}

extension String: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) { self = try reader.string() }
}

extension Bool: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) { self = try reader.bool() }
}

extension Double: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        switch try reader.number() {
        case .integer(let whole): self = Double(whole)
        case .number(let number): self = number
        default: throw JSONReader.Refusal()
        }
    }
}

extension Int: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        guard case .integer(let whole) = try reader.number(), let whole = Int(exactly: whole) else {
            throw JSONReader.Refusal()
        }
        self = whole
    }
}

extension JSONValue: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) { self = try reader.value() }
}

extension Array: JSONReadable where Element: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        guard reader.beginArray() else { throw JSONReader.Refusal() }
        self = []
        while try reader.nextElement() { append(try Element(from: &reader)) }
    }
}

extension Dictionary: JSONReadable where Key == String, Value: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        self = try reader.members { reader throws(JSONReader.Refusal) in try Value(from: &reader) }
    }
}

extension Timestamp: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        guard let timestamp = Timestamp(rfc3339: try reader.string()) else {
            throw JSONReader.Refusal()
        }
        self = timestamp
    }
}
