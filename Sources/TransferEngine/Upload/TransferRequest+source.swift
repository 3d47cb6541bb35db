import Curl
import TransferModel

extension TransferRequest {
    /// Whether its body lies elsewhere.
    var isCopy: Bool {
        if case .copy = upload { true } else { false }
    }

    /// The host that sends the body of a copy; nil of any other request, and of a source that
    /// cannot be asked.
    var sourceHostKey: HostKey? {
        guard case .copy(.remote(let text, _)) = upload else { return nil }
        do throws(CurlError) {
            let url = try CurlURL(text)
            return HostKey(host: url.host, port: Int(url.port))
        } catch {
            return nil
        }
    }
}
