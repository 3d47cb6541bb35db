import Foundation
import Postgres
import TransferModel

/// The values stored as `jsonb`, in the few places where separate columns would only be carried
/// along.
enum StoredJSON {
    private struct Header: Codable {
        let name: String
        let value: String
    }

    private struct Copy: Codable {
        let task: UUID?
        let url: String?
        let headers: [Header]?
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

    static func text(of source: CopySource) throws(StoreError) -> String {
        switch source {
        case .result(let task): try encode(Copy(task: task.uuid, url: nil, headers: nil))
        case .remote(let url, let headers):
            try encode(
                Copy(
                    task: nil,
                    url: url,
                    headers: headers.map { Header(name: $0.name, value: $0.value) }
                )
            )
        }
    }

    static func copySource(_ bytes: [UInt8]) throws(StoreError) -> CopySource {
        let stored = try decode(Copy.self, String(decoding: bytes, as: UTF8.self))
        if let task = stored.task { return .result(of: TaskID(task)) }
        guard let url = stored.url else {
            throw StoreError(decoding: "a copy has neither a task nor a URL")
        }
        let headers = (stored.headers ?? []).map { HTTPHeader(name: $0.name, value: $0.value) }
        return .remote(url: url, headers: headers)
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

    static func headers(_ text: String) throws(StoreError) -> [HTTPHeader] {
        guard text != "[]" else { return [] }
        return try decode([Header].self, text).map { HTTPHeader(name: $0.name, value: $0.value) }
    }

    static func failure(_ text: String) throws(StoreError) -> TransferFailure {
        let stored = try decode(Failure.self, text)
        guard let code = TransferFailure.Code(rawValue: stored.code) else {
            throw StoreError(decoding: "unknown failure code in a stored failure")
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
    ) throws(StoreError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch {
            throw StoreError(decoding: "stored JSON is not a \(type)")
        }
    }
}
