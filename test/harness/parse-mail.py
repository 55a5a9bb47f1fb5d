"""Reads a mail from standard input with Python's own parser, the second opinion, and prints what it says as JSON."""
import base64, email, email.policy, json, sys
from email.header import decode_header, make_header
from email.utils import getaddresses

raw = sys.stdin.buffer.read()
mail = email.message_from_bytes(raw, policy=email.policy.default)
# Names of people are read by the older interface: the newer one keeps the white space between adjacent encoded words, which RFC 2047 §6.2 drops.
plain = email.message_from_bytes(raw)
parts = [
    {
        "type": part.get_content_type(),
        "filename": part.get_filename(),
        "contentId": part["content-id"],
        "disposition": part.get_content_disposition(),
        "text": part.get_content() if part.get_content_maintype() == "text" else None,
        "base64": base64.b64encode(part.get_payload(decode=True)).decode(),
    }
    for part in mail.walk()
    if not part.is_multipart()
]
people = lambda header: [{"name": str(make_header(decode_header(name))), "address": address} for name, address in getaddresses(plain.get_all(header, []))]
print(json.dumps({
    "subject": str(mail["subject"]), "messageId": str(mail["message-id"]), "date": mail["date"].datetime.isoformat(),
    "from": people("from"), "to": people("to"), "cc": people("cc"), "replyTo": people("reply-to"),
    "names": sorted({name.lower() for name in mail.keys()}), "headers": {name: str(value) for name, value in mail.items()},
    "defects": [str(d) for d in mail.defects], "types": [part.get_content_type() for part in mail.walk()], "parts": parts,
}))
