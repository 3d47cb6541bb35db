import Foundation
import Testing
import TransferModel
import TransferTestSupport

@Suite struct CertificateAuthoritiesTests {
    private static func block(_ bytes: [UInt8], label: String = "CERTIFICATE") -> String {
        let text = Data(bytes).base64EncodedString()
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }

    /// The outer form of a certificate: a sequence that starts with a sequence and continues.
    private static let form: [UInt8] = [0x30, 6, 0x30, 1, 5, 0x30, 1, 5]

    private func count(_ text: String) -> Int? {
        CertificateAuthorities(pem: Array(text.utf8))?.count
    }

    @Test func takesRealCertificatesAndWhatExplainsThem() async throws {
        let pem = String(decoding: try await TestAuthority().certificate, as: UTF8.self)
        #expect(count(pem) == 1)
        #expect(count("Our own\n\(pem)\n# and another\n\(pem)") == 2)
        #expect(count(pem.replacing("\n", with: "\r\n")) == 1)
        let authorities = try #require(CertificateAuthorities(pem: Array(pem.utf8)))
        #expect(authorities.pem == Array(pem.utf8))
    }

    @Test func refusesKeysEvenBesideACertificate() async throws {
        let certificate = try await TestAuthority().issue()
        #expect(CertificateAuthorities(pem: certificate.certificate)?.count == 1)
        #expect(CertificateAuthorities(pem: certificate.key) == nil)
        #expect(CertificateAuthorities(pem: certificate.certificate + certificate.key) == nil)
    }

    @Test(
        arguments: [
            "", "certificate", "-----BEGIN CERTIFICATE-----\n", block([]), block([1, 2, 3]),
            block(form.dropLast()), block(form + [0]), block([0x30, 3, 0x30, 1, 5]),
            block([0x30, 0x80] + form), block([0x30, 0x84, 0, 0, 0, 8] + form),
            block(form).replacing("-----END", with: "----END"),
            block(form).replacing("MAYw", with: "MA*w"), block(form, label: "PUBLIC KEY"),
            block(form) + "-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\n" + block(form),
        ]
    )
    func refusesWhatIsNoCertificate(text: String) {
        #expect(count(text) == nil)
    }

    @Test func hasABound() {
        let one = Self.block(Self.form)
        let most = CertificateAuthorities.bytesMax
        let fill = String(repeating: "#", count: most - one.utf8.count - 1) + "\n"
        #expect(count(one) == 1)
        #expect(count(fill + one) == 1)
        #expect(count("#" + fill + one) == nil)
    }
}
