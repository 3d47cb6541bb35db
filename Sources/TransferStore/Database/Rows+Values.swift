import Foundation
import Postgres
import TransferModel

/// `jsonb` as the store keeps it in a few places where a column each would only be carried along.
enum StoredJSON {
    private struct Header: Codable {
        let name: String
        let value: String
    }

    private struct Challenge: Codable {
        let scheme: String
        let realm: String?
    }

    private struct Failure: Codable {
        let code: String
        let message: String
        let http_status: Int?
        let retry_after_s: Int64?
        let response_body: Data?
        let is_final: Bool?
        let challenges: [Challenge]?
    }

    static func text(of headers: [HTTPHeader]) throws(StoreError) -> String {
        guard !headers.isEmpty else { return "[]" }
        return try encode(headers.map { Header(name: $0.name, value: $0.value) })
    }

    static func text(of failure: TransferFailure) throws(StoreError) -> String {
        try encode(
            Failure(
                code: failure.code.rawValue,
                message: failure.message,
                http_status: failure.httpStatus,
                retry_after_s: failure.retryAfter?.components.seconds,
                response_body: failure.responseBody.map { Data($0) },
                is_final: failure.isFinal ? true : nil,
                challenges: failure.challenges.isEmpty
                    ? nil
                    : failure.challenges.map { Challenge(scheme: $0.scheme, realm: $0.realm) }
            )
        )
    }

    static func headers(_ text: String) throws(PostgresError) -> [HTTPHeader] {
        guard text != "[]" else { return [] }
        return try decode([Header].self, text).map { HTTPHeader(name: $0.name, value: $0.value) }
    }

    static func failure(_ text: String) throws(PostgresError) -> TransferFailure {
        let stored = try decode(Failure.self, text)
        guard let code = TransferFailure.Code(rawValue: stored.code) else {
            throw PostgresError(decoding: "unknown failure code in a stored failure")
        }
        var failure = TransferFailure(
            code,
            stored.message,
            httpStatus: stored.http_status,
            retryAfter: stored.retry_after_s.map { .seconds($0) }
        )
        failure.isFinal = stored.is_final ?? false
        failure.responseBody = stored.response_body.map { Array($0) }
        failure.challenges = (stored.challenges ?? []).map {
            AuthenticationChallenge(scheme: $0.scheme, realm: $0.realm)
        }
        return failure
    }

    static func encode(_ value: some Encodable) throws(StoreError) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        } catch {
            throw .defect(PostgresError(encoding: "a value does not encode as JSON"))
        }
    }

    static func decode<Value: Decodable>(
        _ type: Value.Type,
        _ text: String
    ) throws(PostgresError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch {
            throw PostgresError(decoding: "stored JSON is not a \(type)")
        }
    }
}

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
