import Testing

@testable import Curl

@Suite
struct CertificateFaultTests {
    private static let meanings: [(Int, String, CertificateFault?)] = [
        (2, "", .unknownAuthority), (9, "", .notYetValid), (10, "", .expired),
        (18, "", .selfSigned), (19, "", .unknownAuthority), (20, "", .unknownAuthority),
        (21, "", .unknownAuthority), (23, "SSL certificate problem: certificate revoked", nil),
        (
            1, "SSL: no alternative certificate subject name matches target host name 'a.test'",
            .otherName
        ),
        (
            1, "SSL: certificate subject name 'b.test' does not match target host name 'a.test'",
            .otherName
        ),
        // What a certificate says of itself decides nothing.
        (10, "SSL: certificate subject name", .expired),
    ]

    @Test(arguments: meanings)
    func isReadFromWhatTheLibraryTells(number: Int, text: String, fault: CertificateFault?) {
        #expect(CertificateFault(verifyResult: number, text: text) == fault)
    }
}
