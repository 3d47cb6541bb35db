import Foundation
package import TransferModel

extension SigningSecret {
    /// Reads the text of ``serialized``.
    ///
    /// - Returns: nil when it is not `whsec_` and the base64 of 24 to 64 bytes.
    package init?(serialized: String) {
        let prefix = "whsec_"
        guard serialized.hasPrefix(prefix),
            let data = Data(base64Encoded: String(serialized.dropFirst(prefix.count))),
            (24...64).contains(data.count)
        else { return nil }
        self.init(bytes: Array(data))
    }
}
