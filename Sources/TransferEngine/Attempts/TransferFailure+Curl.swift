import Curl
import Foundation
import TransferModel

extension TransferFailure {
    /// Creates the failure that the end of a transfer means for its task.
    init(_ error: CurlError) {
        switch error.code {
        case .unsupportedURL, .invalidRequest:
            self.init(.unsupportedURL, "The URL or a header of the task cannot be sent.")
        case .couldNotResolve:
            self.init(.couldNotResolveHost, "The host's name could not be resolved.")
        case .couldNotConnect:
            self.init(.couldNotConnect, "No connection to the host could be made.")
        case .proxyUnreachable:
            self.init(.proxyUnreachable, "The proxy of this service could not be reached.")
        case .proxyCredentialRefused:
            self.init(.proxyCredentialRefused, "The proxy of this service wants a credential.")
        case .proxyRefused:
            self.init(.proxyRefused, "The proxy of this service does not connect to the host.")
        case .tlsFailure:
            self.init(.tlsFailure, Self.message(about: error.summary.certificateFault))
        case .tlsDisagreement:
            self.init(
                .tlsFailure,
                "The server and this service cannot agree on TLS: a version, a cipher or a certificate."
            )
        case .authoritiesUnusable:
            self.init(
                .authoritiesUnusable,
                "Certificate authorities of this service, the tenant or the task cannot be read."
            )
        case .clientCertificateUnusable:
            self.init(.credentialUnusable, "The client certificate or private key cannot be used.")
        case .tlsHandshake:
            self.init(.connectionLost, "The TLS handshake broke off.")
        case .timedOut(.connect):
            self.init(.timedOut, "The connection was not made in time.")
        case .timedOut(.firstByte):
            self.init(.timedOut, "The server did not begin its answer in time.")
        case .timedOut(.inactivity):
            self.init(.timedOut, "No byte arrived for the session's timeout_for_request.")
        case .timedOut(.total):
            self.init(.timedOut, "The transfer took longer than timeout_for_resource.")
        case .timedOut(.lowSpeed):
            self.init(.timedOut, "The body moved slower than bytes_per_second_min.")
        case .connectionLost:
            self.init(.connectionLost, "The connection to the server broke.")
        case .requestRefused:
            self.init(.connectionLost, "The server refused the request, and did not act on it.")
        case .truncated:
            self.init(.lengthMismatch, "The body ended before its announced length.")
        case .badResponse:
            self.init(.badResponse, "The server's answer is not acceptable HTTP.")
        case .bodyTooLarge:
            self.init(
                .fileTooLarge,
                "The body is larger than size_max allows or this service stores."
            )
        case .egressDenied:
            self.init(.egressDenied, "The host is in a network that this service does not reach.")
        case .outOfMemory:
            self.init(.memoryExhausted, "This service was out of memory or threads.")
        case .outOfDescriptors:
            self.init(.descriptorsExhausted, "This service was out of descriptors.")
        case .tooManyTransfers:
            self.init(.couldNotConnect, "This service had as many transfers as it may.")
        case .bodySourceFailed, .aborted, .cancelled, .other:
            self.init(.connectionLost, "The transfer ended unexpectedly (\(error)).")
        }
        isAboutHost = Self.isAboutHost(error)
    }

    private static func isAboutHost(_ error: CurlError) -> Bool {
        switch error.code {
        case .timedOut(.total), .timedOut(.lowSpeed), .outOfMemory, .outOfDescriptors,
            .tooManyTransfers, .authoritiesUnusable, .clientCertificateUnusable,
            .bodySourceFailed, .aborted, .cancelled:
            false
        // Others may reach the addresses that the guard has denied here.
        default: !error.summary.isAddressDenied || error.summary.primaryAddress != nil
        }
    }

    private static func message(about fault: CertificateFault?) -> String {
        switch fault {
        case .expired: "The server's certificate, or that of its authority, has expired."
        case .notYetValid: "The server's certificate, or that of its authority, is not valid yet."
        case .otherName: "The server's certificate is for another name."
        case .selfSigned: "The server's certificate is signed by itself, and not trusted."
        case .unknownAuthority: "The server's certificate is not from a trusted authority."
        case nil: "The server's certificate is not trusted."
        }
    }

    /// Creates the failure that a response's status means; nil for a response whose body is the
    /// file.
    init?(_ head: ResponseHead) {
        guard !(200...299).contains(head.status) || head.status == 206 else { return nil }
        // A part of the file was not asked for and must not pass as the whole file.
        guard head.status != 206 else {
            self.init(.badResponse, "The server sent a part of the file.", httpStatus: 206)
            return
        }
        guard head.status != 407 else {
            self.init(
                .proxyAuthenticationRequired,
                "The server answered as a proxy that wants a credential of its own.",
                httpStatus: 407
            )
            return
        }
        self.init(
            .httpStatus,
            "The server answered with status \(head.status).",
            httpStatus: head.status,
            retryAfter: RetryAfter.wait(head["Retry-After"], date: head["Date"], now: Date())
        )
        guard head.status == 401 else { return }
        challenges = head.headers.filter { $0.name.lowercased() == "www-authenticate" }
            .flatMap { AuthenticationChallenge.challenges(in: $0.value) }
            .prefix(AuthenticationChallenge.countMax).map(\.self)
    }
}
