import Foundation
import Postgres
import TransferModel

extension StoredRow {
    func tenant(_ column: String) throws(StoreError) -> TenantID {
        TenantID(try decode(column, as: UUID.self))
    }

    func session(_ column: String) throws(StoreError) -> SessionID {
        SessionID(try decode(column, as: UUID.self))
    }

    func task(_ column: String) throws(StoreError) -> TaskID {
        TaskID(try decode(column, as: UUID.self))
    }

    func client(_ column: String) throws(StoreError) -> ClientID {
        ClientID(stored: try decode(column, as: String.self))
    }

    func clientIfPresent(_ column: String) throws(StoreError) -> ClientID? {
        try decodeIfPresent(column, as: String.self).map { ClientID(stored: $0) }
    }

    func fence(_ column: String) throws(StoreError) -> Fence {
        Fence(rawValue: try decode(column, as: Int64.self))
    }

    func milliseconds(_ column: String) throws(StoreError) -> Duration {
        .milliseconds(try decode(column, as: Int64.self))
    }

    func headers(
        _ column: String,
        at place: @autoclosure () -> RowSealer.Place
    ) throws(StoreError) -> [HTTPHeader] {
        guard let json = try decodeIfPresent(column, as: JSONText.self) else { return [] }
        return try sealer.open(headers: json.text, at: place())
    }

    func url(
        _ column: String,
        at place: @autoclosure () -> RowSealer.Place
    ) throws(StoreError) -> String {
        try sealer.open(url: decode(column), at: place())
    }

    func failure(_ column: String) throws(StoreError) -> TransferFailure? {
        guard let json = try decodeIfPresent(column, as: JSONText.self) else { return nil }
        return try StoredJSON.failure(json.text)
    }

    /// Returns the ranges of an `int8multirange` read as text; nil for NULL.
    func byteRanges(_ column: String) throws(StoreError) -> ByteRangeSet? {
        guard let text = try decodeIfPresent(column, as: String.self) else { return nil }
        guard let ranges = ByteRangeSet(text: text) else {
            throw StoreError(decoding: "column \(column) holds no ranges of bytes")
        }
        return ranges
    }

    func clientString(_ column: String) throws(StoreError) -> ClientString? {
        try decodeIfPresent(column, as: [UInt8].self).map { ClientString(stored: $0) }
    }

    /// Returns a value of an enumeration that the database stores by its raw value.
    func word<Value: RawRepresentable<String>>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws(StoreError) -> Value {
        guard let value = Value(rawValue: try decode(column, as: String.self)) else {
            throw StoreError(decoding: "column \(column) holds no \(Value.self)")
        }
        return value
    }

    func destination(prefix: String = "") throws(StoreError) -> Destination? {
        guard let path = try decodeIfPresent("\(prefix)destination_path", as: String.self) else {
            return nil
        }
        return Destination(
            storedPath: path,
            overwrite: try decode("\(prefix)destination_overwrite", as: Bool.self)
        )
    }
}
