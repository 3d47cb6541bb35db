import CCurl
import Testing

@testable import Curl

@Suite
struct EasyHandleTests {
    /// The settings that protect the host and other tenants, which no origin can observe.
    @Test(arguments: [
        (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_MAXREDIRS, 0), (CURLOPT_SSL_VERIFYPEER, 1),
        (CURLOPT_SSL_VERIFYHOST, 2), (CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
        (CURLOPT_NETRC, 0), (CURLOPT_NOSIGNAL, 1), (CURLOPT_HTTP09_ALLOWED, 0),
        (CURLOPT_DISALLOW_USERNAME_IN_URL, 1), (CURLOPT_QUICK_EXIT, 1),
    ])
    func everyHandleHasNumber(option: CURLoption, value: Int) {
        #expect(EasyHandle.fixedNumbers.filter { $0.option == option }.map(\.value) == [value])
    }

    @Test(arguments: [
        (CURLOPT_PROTOCOLS_STR, "http,https"), (CURLOPT_REDIR_PROTOCOLS_STR, "http,https"),
        (CURLOPT_PROXY, ""), (CURLOPT_NOPROXY, ""),
    ])
    func everyHandleHasText(option: CURLoption, value: String) {
        #expect(EasyHandle.fixedTexts.filter { $0.option == option }.map(\.value) == [value])
    }

    @Test func libraryTakesEveryOption() throws {
        let easy = try EasyHandle()
        var request = CurlRequest(url: "https://example.com/", egress: .everywhere)
        request.bodyBytesMax = 10
        request.connectTimeout = .seconds(Int64.max)
        request.tls.certificateAuthorities = [1]
        request.tls.clientCertificate = .init(certificate: [2], key: [3])
        request.tls.minimumVersion = .v1_3
        request.cookies = CookieJar()
        try easy.configure(request, url: try request.validated(), certificateFile: "/none")
    }

    @Test func refusedOptionIsAnError() throws {
        let easy = try EasyHandle()
        #expect(throws: CurlError.self) { try easy.set(CURLOPT_PROTOCOLS_STR, "carrier-pigeon") }
    }
}
