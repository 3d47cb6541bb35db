import Testing
import TransferModel

@Suite struct LaneTests {
    /// Stored in every task's row: another version must compute the same.
    @Test(
        arguments: [
            ("example.com", 443, -558_761_196_485_968_739),
            ("example.com", 80, 7_654_643_237_170_016_956),
            ("127.0.0.1", 8080, 2_085_389_477_533_210_572),
            ("[::1]", 80, -1_821_944_738_156_563_834),
        ] as [(String, Int, Int64)]
    )
    func isTheSameInEveryVersion(host: String, port: Int, key: Int64) {
        #expect(Lane(host: host, port: port).key == key)
    }

    @Test func namesThatDifferInCaseShareALane() {
        #expect(Lane(host: "Example.COM", port: 443) == Lane(host: "example.com", port: 443))
    }

    @Test func portsAndHostsHaveLanesOfTheirOwn() {
        let lanes: Set = [
            Lane(host: "example.com", port: 443), Lane(host: "example.com", port: 80),
            Lane(host: "example.org", port: 443), Lane(host: "example.com4", port: 43),
        ]
        #expect(lanes.count == 4)
    }
}
