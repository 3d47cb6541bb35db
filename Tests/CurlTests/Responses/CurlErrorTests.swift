import CCurl
import Testing

@testable import Curl

@Suite
struct CurlErrorTests {
    private static let meanings: [(UInt32, CurlError.Code)] = [
        (1, CurlError.Code.unsupportedURL), (3, .unsupportedURL), (5, .proxyUnreachable),
        (6, .couldNotResolve), (7, .couldNotConnect), (8, .badResponse), (16, .connectionLost),
        (18, .truncated), (23, .badResponse), (26, .bodySourceFailed), (27, .outOfMemory),
        (28, .timedOut(.connect)), (35, .tlsHandshake), (42, .aborted), (43, .other),
        (45, .couldNotConnect), (48, .other), (52, .connectionLost), (55, .connectionLost),
        (56, .connectionLost), (58, .clientCertificateUnusable), (59, .tlsDisagreement),
        (60, .tlsFailure),
        (61, .badResponse), (63, .bodyTooLarge), (65, .bodySourceFailed),
        (77, .authoritiesUnusable),
        (83, .tlsFailure), (89, .couldNotConnect), (90, .tlsFailure), (91, .tlsFailure),
        (92, .connectionLost), (97, .proxyUnreachable), (98, .tlsDisagreement), (9999, .other),
    ]

    @Test(arguments: meanings)
    func mapsResultOfLibrary(number: UInt32, code: CurlError.Code) {
        #expect(CurlError.Code(CURLcode(number), isConnected: false) == code)
    }

    @Test func unknownProtocolOnConnectionIsBadResponse() {
        #expect(CurlError.Code(CURLE_UNSUPPORTED_PROTOCOL, isConnected: true) == .badResponse)
    }

    @Test func descriptionNamesOnlyKindAndNumber() {
        #expect("\(CurlError(.truncated, curlCode: 18))" == "truncated (curl 18)")
        #expect("\(CurlError(.timedOut(.total)))" == "timedOut(total)")
    }
}
