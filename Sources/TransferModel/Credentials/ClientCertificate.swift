/// A certificate with its private key, shown to origins that ask who is there; no description shows
/// the key.
package struct ClientCertificate: Equatable, Sendable {
    /// In PEM, followed by the intermediate ones of its chain.
    package let certificate: [UInt8]
    /// Its private key in PEM, without a passphrase.
    package let key: [UInt8]

    /// Whether the two fit is found when connecting.
    package init(certificate: [UInt8], key: [UInt8]) {
        self.certificate = certificate
        self.key = key
    }
}

extension ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package var description: String { "certificate (\(certificate.count) bytes), key hidden" }

    /// The same: a debugger's output ends up in logs, too.
    package var debugDescription: String { description }

    /// Without children, of which `dump` and the descriptions of owners would show all.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
