import Foundation
import Postgres
import TransferModel

extension Row {
    func tenant(_ column: String) throws(PostgresError) -> TenantID {
        TenantID(try decode(column, as: UUID.self))
    }

    func session(_ column: String) throws(PostgresError) -> SessionID {
        SessionID(try decode(column, as: UUID.self))
    }

    func task(_ column: String) throws(PostgresError) -> TaskID {
        TaskID(try decode(column, as: UUID.self))
    }

    func client(_ column: String) throws(PostgresError) -> ClientID {
        ClientID(stored: try decode(column, as: String.self))
    }

    func clientIfPresent(_ column: String) throws(PostgresError) -> ClientID? {
        try decodeIfPresent(column, as: String.self).map { ClientID(stored: $0) }
    }

    func fence(_ column: String) throws(PostgresError) -> Fence {
        Fence(rawValue: try decode(column, as: Int64.self))
    }

    func milliseconds(_ column: String) throws(PostgresError) -> Duration {
        .milliseconds(try decode(column, as: Int64.self))
    }

    func headers(_ column: String) throws(PostgresError) -> [HTTPHeader] {
        try StoredJSON.headers(try decode(column, as: JSONText.self).text)
    }

    func failure(_ column: String) throws(PostgresError) -> TransferFailure? {
        guard let json = try decodeIfPresent(column, as: JSONText.self) else { return nil }
        return try StoredJSON.failure(json.text)
    }

    /// Nil where there is no value; of an `int8multirange` as text.
    func byteRanges(_ column: String) throws(PostgresError) -> ByteRangeSet? {
        guard let text = try decodeIfPresent(column, as: String.self) else { return nil }
        guard let ranges = ByteRangeSet(text: text) else {
            throw PostgresError(decoding: "column \(column) holds no ranges of bytes")
        }
        return ranges
    }

    func clientString(_ column: String) throws(PostgresError) -> ClientString? {
        try decodeIfPresent(column, as: [UInt8].self).map { ClientString(stored: $0) }
    }

    /// A value of an enumeration that the database keeps by its raw value.
    func word<Value: RawRepresentable<String>>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        guard let value = Value(rawValue: try decode(column, as: String.self)) else {
            throw PostgresError(decoding: "column \(column) holds no \(Value.self)")
        }
        return value
    }

    func destination(prefix: String = "") throws(PostgresError) -> Destination? {
        guard let path = try decodeIfPresent("\(prefix)destination_path", as: String.self) else {
            return nil
        }
        return Destination(
            storedPath: path,
            overwrite: try decode("\(prefix)destination_overwrite", as: Bool.self)
        )
    }
}
