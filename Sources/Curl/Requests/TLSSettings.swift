/// A transfer's TLS settings beyond the verification of the peer, which is always on.
///
/// A kept connection serves only requests with the same settings, byte for byte: libcurl compares
/// the blobs and the version of a connection with those of the request (`Curl_ssl_config_matches`
/// in lib/vtls/vtls.c of 7.88.1), and does the same for sessions that it could resume.
package struct TLSSettings: Sendable, Hashable {
    /// The minimum versions of TLS; versions older than these are broken (RFC 8996).
    package enum Version: Sendable, CaseIterable {
        /// TLS 1.2 (RFC 5246).
        case v1_2
        /// TLS 1.3 (RFC 8446).
        case v1_3
    }

    /// Certificates in PEM that are trusted instead of the system's, or nil for the system's.
    ///
    /// If it contains no certificate, every transfer fails with `authoritiesUnusable`.
    package var certificateAuthorities: [UInt8]?
    /// Certificates in PEM that are trusted in addition, or nil for none.
    package var furtherAuthorities: [UInt8]?
    /// The certificate shown to a server that asks for one; nil shows none.
    package var clientCertificate: ClientCertificate?
    /// The oldest accepted version; a server with only older ones fails with `tlsDisagreement`.
    package var minimumVersion = Version.v1_2

    /// Creates the default settings: system authorities, no client certificate, TLS 1.2 or newer.
    package init() {}
}

extension TLSSettings {
    /// A certificate with its private key, which no description shows.
    package struct ClientCertificate: Sendable, Hashable {
        /// The certificate in PEM, followed by the intermediate certificates of its chain.
        package let certificate: [UInt8]
        /// Its private key in PEM, without a passphrase.
        package let key: [UInt8]

        /// Pairs a certificate with its key.
        ///
        /// A mismatch is found only when connecting, and is then `clientCertificateUnusable`.
        package init(certificate: [UInt8], key: [UInt8]) {
            self.certificate = certificate
            self.key = key
        }

        /// The certificate and the key in one PEM, which libcurl is given as both.
        ///
        /// It compares the certificates of a connection and a request, but not their keys: anybody
        /// with the certificate, which is no secret, could otherwise use its owner's connection.
        var pem: [UInt8] { certificate + [.lineFeed] + key }
    }
}

extension TLSSettings.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The number of bytes, without any of them.
    package var description: String { "certificate (\(certificate.count) bytes), key hidden" }

    /// The same text: a debugger's output ends up in logs, too.
    package var debugDescription: String { description }

    /// A mirror without children, so that `dump` and descriptions of owners show no secrets.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
