import CCurl
import PollLoop

/// What a loop keeps of its connections for later transfers.
struct KeptConnections {
    /// The most of them, used or not.
    let countMax: Int
    /// How long they are kept while there is no transfer.
    ///
    /// After 118 s libcurl gives a connection to no request (CURLOPT_MAXAGE_CONN(3)). But it looks
    /// at their age only when another transfer begins, and so at those that origins have closed.
    var timeMax: Duration = .seconds(120)
}

extension MultiDriver {
    /// Ends the kept connections after some time, unless another transfer begins.
    func endKeptLater() {
        if let keptTimer { loop.cancel(keptTimer) }
        keptTimer = loop.schedule(after: kept.timeMax) { [unowned self] in
            keptTimer = nil
            // There are turns as long as there is a transfer, and the last one leads here again.
            if turnTimer == nil { endKept() }
        }
    }

    /// Ends the kept connections with their multi handle, the only call that ends them all.
    private func endKept() {
        // Without memory for another one the connections stay.
        guard let fresh = unsafe curl_multi_init() else { return }
        guard unsafe configure(fresh) else {
            unsafe curl_multi_cleanup(fresh)
            return
        }
        unsafe curl_multi_cleanup(multi)
        unsafe multi = fresh
    }
}
