/// The reason why a server's certificate was not accepted.
package enum CertificateFault: Sendable, Hashable, CaseIterable {
    /// It has expired, or that of an authority between it and a trusted one has.
    case expired
    /// It is not valid yet, or that of an authority between it and a trusted one is not.
    case notYetValid
    /// It is for other hosts.
    case otherName
    /// It is signed by itself.
    case selfSigned
    /// No trusted authority has signed it.
    case unknownAuthority

    /// Reads what libcurl tells of a certificate that it did not accept; nil for another reason.
    ///
    /// - Parameters:
    ///   - verifyResult: OpenSSL's number (CURLINFO_SSL_VERIFYRESULT(3); the numbers are those of
    ///     X509_STORE_CTX_get_error(3)).
    ///   - text: libcurl's words, because it compares names without OpenSSL.
    init?(verifyResult: Int, text: String) {
        switch verifyResult {
        case 9: self = .notYetValid
        case 10: self = .expired
        case 18: self = .selfSigned
        case 2, 19, 20, 21: self = .unknownAuthority
        default:
            guard text.contains("certificate subject name") else { return nil }
            self = .otherName
        }
    }
}
