import Testing
import TransferModel

@Suite struct SlotLedgerTests {
    private func take(_ ledger: inout SlotLedger<String>, _ count: Int, for holder: String) -> Int {
        var taken = 0
        for _ in 0..<count where ledger.take(for: holder) { taken += 1 }
        return taken
    }

    @Test func oneAloneHasAllAndLeavesSomeForOthers() {
        var ledger = SlotLedger<String>(slots: 80)
        #expect(take(&ledger, 200, for: "a") == 80)
        let others = (0..<20).map { take(&ledger, 1, for: "\($0)") }
        #expect(others == Array(repeating: 1, count: 10) + Array(repeating: 0, count: 10))
        ledger.giveBack(for: "a")
        #expect(ledger.count(of: "a") == 79)
        // A slot that is given back goes to a tenant that has none.
        #expect(take(&ledger, 1, for: "a") == 0)
        #expect(take(&ledger, 1, for: "b") == 1)
    }

    @Test func nobodyHasMoreThanItsOwnBound() {
        var ledger = SlotLedger<String>(slots: 80, ownMax: 3)
        #expect(take(&ledger, 9, for: "a") == 3)
        ledger.giveBack(for: "a")
        #expect(take(&ledger, 9, for: "a") == 1)
        for _ in 0..<3 { ledger.giveBack(for: "a") }
        #expect(ledger.count(of: "a") == 0)
    }
}
