extension Bool: PostgresScalar {
    package static var postgresType: PostgresType { .bool }
    package static var postgresArrayType: PostgresType { .boolArray }

    package func encode(into bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> Bool {
        guard type == .bool else { throw .mismatch(Bool.self, type, bytes.byteCount) }
        return try UInt8(bigEndian: bytes) != 0
    }
}

extension Int16: PostgresScalar {
    package static var postgresType: PostgresType { .int2 }
    package static var postgresArrayType: PostgresType { .int2Array }

    package func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> Int16 {
        guard type == .int2 else { throw .mismatch(Int16.self, type, bytes.byteCount) }
        return try Int16(bigEndian: bytes)
    }
}

extension Int32: PostgresScalar {
    package static var postgresType: PostgresType { .int4 }
    package static var postgresArrayType: PostgresType { .int4Array }

    package func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> Int32 {
        switch type {
        case .int4: try Int32(bigEndian: bytes)
        case .int2: Int32(try Int16(bigEndian: bytes))
        default: throw .mismatch(Int32.self, type, bytes.byteCount)
        }
    }
}

extension Int64: PostgresScalar {
    package static var postgresType: PostgresType { .int8 }
    package static var postgresArrayType: PostgresType { .int8Array }

    package func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> Int64 {
        switch type {
        case .int8: try Int64(bigEndian: bytes)
        case .int4: Int64(try Int32(bigEndian: bytes))
        case .int2: Int64(try Int16(bigEndian: bytes))
        default: throw .mismatch(Int64.self, type, bytes.byteCount)
        }
    }
}

extension Int: PostgresScalar {
    package static var postgresType: PostgresType { .int8 }
    package static var postgresArrayType: PostgresType { .int8Array }

    package func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(Int64(self)) }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> Int {
        Int(try Int64.decode(bytes, type: type))
    }
}

extension Double: PostgresScalar {
    package static var postgresType: PostgresType { .float8 }
    package static var postgresArrayType: PostgresType { .float8Array }

    package func encode(into bytes: inout [UInt8]) { bytes.appendBigEndian(bitPattern) }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> Double {
        switch type {
        case .float8: Double(bitPattern: try UInt64(bigEndian: bytes))
        case .float4: Double(Float(bitPattern: try UInt32(bigEndian: bytes)))
        default: throw .mismatch(Double.self, type, bytes.byteCount)
        }
    }
}

extension [UInt8] {
    mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
    }
}

extension FixedWidthInteger {
    /// Reads all of `bytes`, which must be as long as the number.
    init(bigEndian bytes: RawSpan) throws(PostgresError) {
        guard bytes.byteCount == Self.bitWidth / 8 else {
            throw PostgresError(
                .decoding,
                "expected \(Self.bitWidth / 8) bytes, got \(bytes.byteCount)"
            )
        }
        var value: Self = 0
        for offset in bytes.byteOffsets {
            // The offset is within the span.
            let byte = unsafe bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
            value = value << 8 | Self(truncatingIfNeeded: byte)
        }
        self = value
    }
}

extension PostgresError {
    /// Returns the error for a column whose type is not the one that the code asks for.
    static func mismatch(
        _ wanted: any Any.Type,
        _ type: PostgresType,
        _ byteCount: Int
    ) -> PostgresError {
        PostgresError(
            .decoding,
            "\(wanted) cannot be read from type \(type.rawValue) of \(byteCount) bytes"
        )
    }
}
