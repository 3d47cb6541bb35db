import Curl
import Foundation
import TransferModel

/// The answer of a token endpoint to a refresh (RFC 6749 §5).
enum TokenEndpointAnswer: Equatable {
    /// An access token, with its lifetime if the endpoint gave it, and a new refresh token if the
    /// old one is used up.
    case granted(accessToken: Secret, expiresIn: Duration?, refreshToken: Secret?)
    /// The refresh token or the client is not accepted and never will be again.
    case refused(String)
    /// An unusable answer or none; the next one may be usable.
    case unavailable(String)
    /// None, because the endpoint may not be reached, or because the proxy on the way to it fails.
    case unreached(TransferFailure)

    /// The maximum number of bytes read of an answer.
    static let bodyBytesMax = 64 * 1024
    /// The maximum length of a token in bytes: it becomes a header field.
    private static let tokenBytesMax = 7 * 1024
    private static let expirySecondsMax = 365 * 24 * 3600.0

    private struct Grant: Decodable {
        let access_token: String
        let token_type: String?
        let expires_in: Seconds?
        let refresh_token: String?
    }

    private struct Refusal: Decodable {
        let error: String
    }

    /// A number of seconds, which some endpoints send as text.
    private struct Seconds: Decodable {
        let value: Double?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                value = number
            } else {
                value = Double(try container.decode(String.self))
            }
        }
    }

    init(status: Int, body: [UInt8]) {
        switch status {
        case 200: self = Self.grant(body)
        case 400, 401, 403:
            let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(body))
            self = .refused(refusal.flatMap { Self.known($0.error) } ?? "status \(status)")
        default: self = .unavailable("status \(status)")
        }
    }

    /// Creates the answer of an endpoint from which none has come.
    init(_ error: CurlError) {
        let failure = TransferFailure(error)
        switch failure.code {
        case .egressDenied, .proxyUnreachable, .proxyCredentialRefused, .proxyRefused,
            .authoritiesUnusable:
            self = .unreached(
                TransferFailure(
                    failure.code,
                    "The token endpoint was not reached. \(failure.message)"
                )
            )
        default: self = .unavailable("\(error.code)")
        }
    }

    private static func grant(_ body: [UInt8]) -> TokenEndpointAnswer {
        guard let grant = try? JSONDecoder().decode(Grant.self, from: Data(body)),
            isToken(grant.access_token), grant.refresh_token.map(isToken) ?? true
        else { return .unavailable("an answer without a token") }
        guard grant.token_type?.lowercased() ?? "bearer" == "bearer" else {
            return .refused("a token that is no bearer token")
        }
        let seconds = grant.expires_in?.value.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
        return .granted(
            accessToken: Secret(grant.access_token),
            expiresIn: seconds.map { .seconds(min($0, expirySecondsMax)) },
            refreshToken: grant.refresh_token.map { Secret($0) }
        )
    }

    private static func isToken(_ text: String) -> Bool {
        (1...tokenBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Returns an error code of RFC 6749 §5.2; other text from an unknown server is not repeated.
    private static func known(_ error: String) -> String? {
        [
            "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client",
            "unsupported_grant_type", "invalid_scope",
        ].contains(error) ? error : nil
    }
}
