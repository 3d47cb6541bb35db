import Curl
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct TokenEndpointAnswerTests {
    private func answer(_ text: String, status: Int = 200) -> TokenEndpointAnswer {
        TokenEndpointAnswer(status: status, body: Array(text.utf8))
    }

    @Test func grantsAreReadWithWhatTheyTell() {
        #expect(
            answer(#"{"access_token": "a", "expires_in": 10, "refresh_token": "r"}"#)
                == .granted(
                    accessToken: Secret("a"),
                    expiresIn: .seconds(10),
                    refreshToken: Secret("r")
                )
        )
        #expect(
            answer(#"{"access_token": "a", "token_type": "bearer", "expires_in": "10"}"#)
                == .granted(accessToken: Secret("a"), expiresIn: .seconds(10), refreshToken: nil)
        )
        #expect(
            answer(#"{"access_token": "a", "expires_in": -1}"#)
                == .granted(accessToken: Secret("a"), expiresIn: nil, refreshToken: nil)
        )
    }

    @Test func refusalsAreFinalAndOtherAnswersAreNot() {
        #expect(answer(#"{"error": "invalid_grant"}"#, status: 400) == .refused("invalid_grant"))
        #expect(answer(#"{"error": "<b>evil</b>"}"#, status: 400) == .refused("status 400"))
        #expect(answer("no", status: 401) == .refused("status 401"))
        #expect(answer("", status: 500) == .unavailable("status 500"))
        #expect(answer("", status: 429) == .unavailable("status 429"))
        #expect(answer("", status: 302) == .unavailable("status 302"))
    }

    /// A rule of the service stays; a proxy and the authorities are somebody else's.
    @Test(arguments: [
        (CurlError.Code.egressDenied, TransferFailure.Code.egressDenied, false),
        (.proxyRefused, .proxyRefused, false), (.proxyUnreachable, .proxyUnreachable, true),
        (.proxyCredentialRefused, .proxyCredentialRefused, true),
        (.authoritiesUnusable, .authoritiesUnusable, true),
    ])
    func anEndpointThatIsNotReachedIsNotOneThatFails(
        cause: CurlError.Code,
        code: TransferFailure.Code,
        isRetryable: Bool
    ) {
        guard case .unreached(let failure) = TokenEndpointAnswer(CurlError(cause)) else {
            Issue.record("\(cause) is no answer of the endpoint")
            return
        }
        #expect(failure.code == code)
        #expect(failure.isRetryable == isRetryable)
        #expect(TokenEndpointAnswer(CurlError(.couldNotConnect)) == .unavailable("couldNotConnect"))
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"access_token": ""}"#, #"{"access_token": "a\r\nX: y"}"#,
        #"{"access_token": "a", "refresh_token": "ü"}"#,
    ])
    func whatIsNoTokenIsNotUsed(text: String) {
        #expect(answer(text) == .unavailable("an answer without a token"))
    }

    @Test func otherTokensThanBearerAreNotUsed() {
        let text = #"{"access_token": "a", "token_type": "mac"}"#
        #expect(answer(text) == .refused("a token that is no bearer token"))
    }
}
