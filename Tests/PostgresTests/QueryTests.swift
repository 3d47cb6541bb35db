import Postgres
import Testing

@Suite struct QueryTests {
    @Test func valuesBecomeNumberedPlaceholders() {
        let query: Query = "SELECT a FROM t WHERE id = \(7) AND name = \("x'; DROP TABLE t")"
        #expect(query.sql == "SELECT a FROM t WHERE id = $1 AND name = $2")
        #expect(query.binds.map(\.type) == [.int8, .text])
        #expect(query.binds[0].bytes == [0, 0, 0, 0, 0, 0, 0, 7])
    }

    @Test func nilIsBoundWithItsType() {
        let query: Query = "SELECT \(nil as Int32?)"
        #expect(query.binds[0].type == .int4)
        #expect(query.binds[0].bytes == nil)
    }

    @Test func identifiersAreQuoted() {
        let query: Query = "SELECT 1 FROM \(identifier: "a\"b c\0")"
        #expect(query.sql == "SELECT 1 FROM \"a\"\"b c\"")
        #expect(query.binds.isEmpty)
    }
}
