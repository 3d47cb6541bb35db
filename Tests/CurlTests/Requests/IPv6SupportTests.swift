import Glibc
import Synchronization
import Testing

@testable import Curl

@Suite struct IPv6SupportTests {
    @Test func aLackOfDescriptorsIsNoAnswer() {
        let codes = Mutex([EMFILE, 0, EAFNOSUPPORT])
        let support = IPv6Support { codes.withLock { $0.removeFirst() } }
        #expect(support.family == AF_UNSPEC)
        #expect(support.family == AF_UNSPEC)
        // It has its answer, and is not asked once more.
        #expect(support.family == AF_UNSPEC)
        #expect(codes.withLock { $0 } == [EAFNOSUPPORT])
    }

    @Test func aSystemWithoutSuchAddressesLooksForTheOthers() {
        let support = IPv6Support { EAFNOSUPPORT }
        #expect(support.family == AF_INET)
        #expect(support.family == AF_INET)
    }
}
