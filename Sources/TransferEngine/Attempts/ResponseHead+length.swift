import Curl

extension ResponseHead {
    /// The length that is announced; nil if there is none, or if no file may have as many bytes.
    ///
    /// What a server announces of an answer that is not kept, or has no body, is checked nowhere
    /// else, and the sums of a tenant's bytes contain it.
    func credibleLength(_ configuration: EngineConfiguration) -> Int64? {
        contentLength.flatMap { $0 <= configuration.fileBytesMax ? $0 : nil }
    }
}
