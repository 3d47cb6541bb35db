import Testing

@testable import TransferHTTP

@Suite struct APIKeyTests {
    @Test func isReadBackFromItsText() throws {
        let key = APIKey.generate()
        let read = try #require(APIKey(key.serialized))
        #expect(read.id == key.id)
        #expect(read.secretSHA256 == key.secretSHA256)
        #expect(key.secretSHA256.count == 32)
        #expect(APIKey.generate().serialized != key.serialized)
    }

    @Test func hidesItsSecretWhenPrinted() {
        let key = APIKey.generate()
        #expect("\(key)" == "tdk_\(key.id)_***")
    }

    @Test func anyChangedCharacterIsNoticed() {
        let text = Array(APIKey.generate().serialized.utf8)
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "1") ? UInt8(ascii: "2") : 0x31
            #expect(APIKey(String(decoding: changed, as: UTF8.self)) == nil)
        }
    }

    @Test(arguments: ["", "tdk", "tdk___", "tdk_a_b_c", "tdk_a_b_c_d", "sk_a_b_c"])
    func refusesOtherForms(text: String) {
        #expect(APIKey(text) == nil)
    }

    @Test func checksumIsThatOfZip() {
        #expect(CRC32.checksum("123456789".utf8) == 0xCBF4_3926)
    }

    @Test func comparesEveryByte() {
        #expect(PresentedKey.isEqual([1, 2], [1, 2]))
        #expect(!PresentedKey.isEqual([1, 2], [1, 3]))
        #expect(!PresentedKey.isEqual([1, 2], [0, 2]))
        #expect(!PresentedKey.isEqual([1, 2], [1]))
    }
}
