import TransferTestSupport

extension OriginLog {
    /// Returns the number of bytes of bodies sent at a path, once no request is being answered.
    ///
    /// A piece is counted after the kernel has taken it, and its client may have it before that.
    func bytesSent(at path: String) async -> Int {
        await wait { $0.requestsOpen == 0 }
        return now.bytesSent[path, default: 0]
    }
}
