import Curl
import TransferModel

extension TaskClaim {
    /// Turns a download with mirrors to the one of its URLs that it asks now; nil is the place of a
    /// task that has not left its own.
    mutating func turn(to stored: MirrorPlace?) {
        guard hasMirrors, let mirrors = options.mirrors else { return }
        let place = stored ?? MirrorPlace()
        let texts = [url] + mirrors
        let urls = texts.map { text -> CurlURL? in
            do throws(CurlError) { return try CurlURL(text) } catch { return nil }
        }
        tour = MirrorTour(
            hosts: urls.map { url in url.map { HostKey(host: $0.host, port: Int($0.port)) } },
            place: place
        )
        mayHaveOthersBytes = stored != nil
        guard (1..<urls.count).contains(place.rank), let own = urls[0],
            let mirror = urls[place.rank]
        else { return }
        url = texts[place.rank]
        guard !mirror.isSameOrigin(as: own) else { return }
        // As after a redirect to there.
        headers.removeAll { !$0.isHarmless }
        isAtOrigin = false
    }
}
