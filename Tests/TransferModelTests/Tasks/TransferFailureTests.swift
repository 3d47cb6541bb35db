import Testing
import TransferModel

@Suite struct TransferFailureTests {
    @Test(arguments: TransferFailure.Code.allCases.filter { $0 != .httpStatus })
    func isRetryableWhenItMayPassByItself(code: TransferFailure.Code) {
        let transient: Set<TransferFailure.Code> = [
            .couldNotResolveHost, .couldNotConnect, .proxyUnreachable, .proxyCredentialRefused,
            .timedOut, .connectionLost, .lengthMismatch, .checksumMismatch, .badResponse,
            .storageFull, .storageFailure, .storageUnwritable, .descriptorsExhausted,
            .memoryExhausted, .sourceUnavailable, .authoritiesUnusable,
        ]
        #expect(TransferFailure(code, "").isRetryable == transient.contains(code))
    }

    @Test(arguments: 100...599)
    func aStatusIsRetryableAsRFC9110SuggestsIt(status: Int) {
        let transient: Set = [408, 423, 425, 429]
        let expected =
            transient.contains(status) || (status >= 500 && ![501, 505].contains(status))
        let failure = TransferFailure(.httpStatus, "", httpStatus: status)
        #expect(failure.isRetryable == expected)
    }

    @Test func aStatusThatIsUnknownIsNotRetried() {
        #expect(!TransferFailure(.httpStatus, "").isRetryable)
    }

    @Test(arguments: TransferFailure.Code.allCases)
    func hasADomain(code: TransferFailure.Code) {
        let expected: TransferFailure.Domain =
            switch code {
            case .couldNotResolveHost, .couldNotConnect, .proxyUnreachable,
                .proxyCredentialRefused, .proxyRefused, .egressDenied, .tlsFailure, .timedOut,
                .connectionLost, .lengthMismatch, .sourceUnavailable:
                .network
            case .sizeMismatch, .checksumMismatch, .badResponse, .httpStatus,
                .proxyAuthenticationRequired, .credentialUnusable, .badRedirect, .unsupportedURL,
                .responseTooLarge:
                .http
            case .fileTooLarge, .destinationCollision, .destinationNotWritable, .sourceMissing,
                .sourceChanged, .storageFull, .storageFailure, .storageUnwritable:
                .storage
            case .authoritiesUnusable, .descriptorsExhausted, .memoryExhausted, .unknownOutcome,
                .poison, .userForceQuit:
                .service
            }
        #expect(TransferFailure(code, "").domain == expected)
    }

    @Test func theWordsOfTheAPINeverChange() {
        #expect(
            TransferFailure.Code.allCases.map(\.rawValue) == [
                "could_not_resolve_host", "could_not_connect", "proxy_unreachable",
                "proxy_credential_refused", "proxy_refused", "egress_denied", "tls_failure",
                "authorities_unusable", "timed_out", "connection_lost", "length_mismatch",
                "size_mismatch", "checksum_mismatch", "bad_response", "http_status",
                "proxy_authentication_required", "credential_unusable",
                "bad_redirect", "unsupported_url", "file_too_large", "response_too_large",
                "destination_collision",
                "destination_not_writable", "source_missing", "source_changed",
                "source_unavailable",
                "storage_full",
                "storage_failure", "storage_unwritable", "descriptors_exhausted",
                "memory_exhausted", "unknown_outcome", "poison", "user_force_quit",
            ]
        )
    }
}
