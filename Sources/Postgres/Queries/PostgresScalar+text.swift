package import FoundationEssentials

extension String: PostgresScalar {
    package static var postgresType: PostgresType { .text }
    package static var postgresArrayType: PostgresType { .textArray }

    package func encode(into bytes: inout [UInt8]) throws(PostgresError) {
        // PostgreSQL text holds every character except NUL (manual, 8.3).
        let hasNUL = unsafe utf8.withContiguousStorageIfAvailable { unsafe $0.contains(0) }
        guard !(hasNUL ?? utf8.contains(0)) else {
            throw PostgresError(.encoding, "text contains a NUL character")
        }
        bytes.append(contentsOf: utf8)
    }

    /// Reads text types, and enums by their label.
    ///
    /// Enums have no fixed OID, so every user-defined type is tried: one that is not an enum is
    /// either refused as invalid UTF-8 or read as the text it happens to be.
    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> String {
        switch type {
        case .text, .varchar, .bpchar, .name, .unknown, .json: break
        case let other where other.isUserDefined: break
        default: throw .mismatch(String.self, type, bytes.byteCount)
        }
        return try String(validating: bytes)
    }

    init(validating bytes: RawSpan) throws(PostgresError) {
        let text = unsafe bytes.withUnsafeBytes { buffer in
            unsafe String(validating: buffer, as: UTF8.self)
        }
        guard let text else { throw PostgresError(.decoding, "text is not valid UTF-8") }
        self = text
    }
}

/// The UTF-8 of a text as a `bytea`, which also holds NUL.
extension String.UTF8View: PostgresScalar {
    package static var postgresType: PostgresType { .bytea }
    package static var postgresArrayType: PostgresType { .byteaArray }

    package func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: self) }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> String.UTF8View {
        guard type == .bytea else { throw .mismatch(Self.self, type, bytes.byteCount) }
        return try String(validating: bytes).utf8
    }
}

extension UUID: PostgresScalar {
    package static var postgresType: PostgresType { .uuid }
    package static var postgresArrayType: PostgresType { .uuidArray }

    package func encode(into bytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: uuid) { unsafe bytes.append(contentsOf: $0) }
    }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> UUID {
        guard type == .uuid, bytes.byteCount == 16 else {
            throw .mismatch(UUID.self, type, bytes.byteCount)
        }
        // Every pattern of 16 bytes is a value, and the count was checked.
        return UUID(uuid: unsafe bytes.unsafeLoadUnaligned(as: uuid_t.self))
    }
}

/// A time in whole microseconds, as `timestamptz` holds it; a `Date` is rounded to the nearest.
extension Date: PostgresScalar {
    package static var postgresType: PostgresType { .timestamptz }
    package static var postgresArrayType: PostgresType { .timestamptzArray }

    /// The seconds from PostgreSQL's epoch, 2000-01-01, to Foundation's, 2001-01-01.
    private static let secondsBetweenEpochs: Int64 = 366 * 86_400
    /// The largest accepted value: a round limit within PostgreSQL's years −4712 to 294276.
    private static let secondsMax: Double = 9_000_000_000_000
    private static let secondsMin: Double = -200_000_000_000

    package func encode(into bytes: inout [UInt8]) throws(PostgresError) {
        let seconds = timeIntervalSinceReferenceDate
        guard seconds >= Self.secondsMin, seconds <= Self.secondsMax else {
            throw PostgresError(.encoding, "the date is outside of what timestamptz holds")
        }
        let whole = seconds.rounded(.down)
        let microseconds = Int64(((seconds - whole) * 1_000_000).rounded())
        bytes.appendBigEndian((Int64(whole) + Self.secondsBetweenEpochs) * 1_000_000 + microseconds)
    }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> Date {
        guard type == .timestamptz else { throw .mismatch(Date.self, type, bytes.byteCount) }
        let microseconds = try Int64(bigEndian: bytes)
        guard microseconds != .max, microseconds != .min else {
            throw PostgresError(.decoding, "an infinite timestamptz has no date")
        }
        let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return Date(
            timeIntervalSinceReferenceDate: Double(seconds - secondsBetweenEpochs)
                + Double(rest) / 1_000_000
        )
    }
}
