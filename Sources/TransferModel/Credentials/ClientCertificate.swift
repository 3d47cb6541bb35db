/// A certificate and private key, shown to origins that ask for one; no description shows the key.
package struct ClientCertificate: Equatable, Sendable {
    /// The certificate in PEM, followed by the intermediate ones of its chain.
    package let certificate: [UInt8]
    /// The certificate's private key in PEM, without a passphrase.
    package let key: [UInt8]

    /// Creates a pair without checking that the two match, which only a connection finds out.
    package init(certificate: [UInt8], key: [UInt8]) {
        self.certificate = certificate
        self.key = key
    }
}

extension ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package var description: String { "certificate (\(certificate.count) bytes), key hidden" }

    /// The same text: a debugger's output ends up in logs, too.
    package var debugDescription: String { description }

    /// A mirror without children, because `dump` and the descriptions of owners would show them
    /// all.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
