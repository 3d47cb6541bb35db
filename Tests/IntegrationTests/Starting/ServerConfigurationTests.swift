import ArgumentParser
import Testing
import TransferTestSupport

@testable import transferd

@Suite struct ServerConfigurationTests {
    /// Returns the service's configuration for settings from the environment.
    private func configuration(_ environment: [String: String]) throws -> ServerConfiguration {
        let resources = ["--resources", Checkout.root]
        return try ServerConfiguration(
            database: try DatabaseOptions.parse(resources),
            service: try ServiceOptions.parse([]),
            environment: environment
        )
    }

    @Test(arguments: [
        ("https://transfers.example", "https://transfers.example"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("https://example.org/transfers//", "https://example.org/transfers"),
        ("HTTPS://[::1]:443", "HTTPS://[::1]:443"),
    ])
    func publicURLIsAnAddressWithoutASlashAtItsEnd(text: String, url: String) throws {
        #expect(try configuration(["TRANSFERD_PUBLIC_URL": text]).server.publicURL == url)
    }

    @Test(arguments: [
        "transfers.example", "transfers.example:80", "ftp://transfers.example", "https://", "/",
        "https://a@transfers.example", "https://transfers.example/?a", "https://a.example/#b",
        "http://a b",
    ])
    func whatIsNoPublicURLIsRefused(text: String) throws {
        #expect {
            _ = try configuration(["TRANSFERD_PUBLIC_URL": text])
        } throws: {
            "\($0)".hasPrefix("TRANSFERD_PUBLIC_URL: \(text) is not a URL")
        }
    }

    @Test(arguments: [
        "https://probe.example/check/", "http://127.0.0.1:8080/generate_204?a=1&b=/",
    ])
    func theNetworkProbeAsksTheURLAsItIs(text: String) throws {
        let variables = ["TRANSFERD_NETWORK_PROBE_URL": text]
        #expect(try configuration(variables).networkProbeURL == text)
    }

    @Test(arguments: ["probe.example", "ftp://probe.example", "http://a@b.example", "http://a/#b"])
    func whatTheNetworkProbeCannotAskIsRefused(text: String) throws {
        #expect {
            _ = try configuration(["TRANSFERD_NETWORK_PROBE_URL": text])
        } throws: {
            "\($0)".hasPrefix("TRANSFERD_NETWORK_PROBE_URL: \(text) is not a URL")
        }
    }
}
