/// What a transfer asks of TLS beyond the verification of the peer, which is always on.
///
/// A kept connection serves only requests with the same settings, byte for byte: libcurl compares
/// the blobs and the version of a connection with those of the request (`Curl_ssl_config_matches`
/// in lib/vtls/vtls.c of 7.88.1), and the same for sessions that it could resume.
package struct TLSSettings: Sendable, Hashable {
    /// The oldest version of TLS that is spoken; older ones than these are broken (RFC 8996).
    package enum Version: Sendable, CaseIterable {
        /// TLS 1.2 (RFC 5246).
        case v1_2
        /// TLS 1.3 (RFC 8446).
        case v1_3
    }

    /// Certificates in PEM that are trusted instead of the system's, or nil for the system's.
    ///
    /// Without a certificate in it every transfer fails with `tlsFailure`.
    package var certificateAuthorities: [UInt8]?
    /// Certificates in PEM that are trusted besides those, or nil for no others.
    package var furtherAuthorities: [UInt8]?
    /// What is shown to a server that asks for a certificate; nil shows none.
    package var clientCertificate: ClientCertificate?
    /// The oldest version to accept; a server that has only older ones fails with `tlsHandshake`.
    package var minimumVersion = Version.v1_2

    /// The system's authorities, no client certificate, TLS 1.2 or newer.
    package init() {}
}

extension TLSSettings {
    /// A certificate with its private key, which no description shows.
    package struct ClientCertificate: Sendable, Hashable {
        /// The certificate in PEM, followed by the intermediate ones of its chain.
        package let certificate: [UInt8]
        /// Its private key in PEM, without a passphrase.
        package let key: [UInt8]

        /// Pairs a certificate with its key.
        ///
        /// Whether they fit is found when connecting, and is a `tlsFailure` if not.
        package init(certificate: [UInt8], key: [UInt8]) {
            self.certificate = certificate
            self.key = key
        }

        /// The certificate and the key in one PEM, which libcurl gets as both.
        ///
        /// It compares the certificates of a connection and a request, but not their keys: whoever
        /// knows a certificate, which is no secret, could else use the connection of its owner.
        var pem: [UInt8] { certificate + [.lineFeed] + key }
    }
}

extension TLSSettings.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Counts bytes and shows none.
    package var description: String { "certificate (\(certificate.count) bytes), key hidden" }

    /// The same: a debugger's output ends up in logs, too.
    package var debugDescription: String { description }

    /// Without children, of which `dump` and the default descriptions of owners would show all.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
