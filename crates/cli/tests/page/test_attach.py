"""Files and images that are pasted or dropped."""

import base64
import struct
import zlib


def png(width, height):
    """A picture of one colour."""
    def part(name, data):
        return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))

    rows = (b'\0' + b'\xa0\x40\x20' * width) * height
    head = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + part(b'IHDR', head) + part(b'IDAT', zlib.compress(rows)) + part(b'IEND', b'')


PICTURE = png(8, 6)

# Files as the clipboard and a drag hand them over.
HAND_OVER = """([files, kinds]) => {
  const data = new DataTransfer();
  for (const { name, type, content } of files) {
    data.items.add(new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], name, { type }));
  }
  for (const kind of kinds) {
    const given = { bubbles: true, cancelable: true };
    const isPaste = kind === 'paste';
    const event = isPaste ? new ClipboardEvent(kind, { ...given, clipboardData: data })
      : new DragEvent(kind, { ...given, dataTransfer: data });
    const place = isPaste ? document.querySelector('.prompt textarea') : document.querySelector('main');
    if (place.dispatchEvent(event)) throw new Error(`the browser would open the file that is handed over by ${kind}`);
  }
}"""


def hand_over(page, files, *kinds):
    listed = [{'name': name, 'type': kind, 'content': base64.b64encode(content).decode()} for name, kind, content in files]
    page.evaluate(HAND_OVER, [listed, kinds])


def test_a_pasted_image_is_seen_before_and_after_it_is_sent(world):
    page = world.page()
    page.locator('textarea:focus').wait_for()
    hand_over(page, [('shot <b>.png', 'image/png', PICTURE)], 'paste')
    page.locator('.chips img').wait_for()
    world.model.reply('I see it.')
    session = world.begin(page, 'Look')
    picture = world.log(page).get_by_role('img', name='shot <b>.png')
    picture.wait_for()
    world.until(page, "document.querySelector('.said img').naturalWidth === 8")
    # The picture stands for itself; what a model without eyes reads is not repeated beside it.
    assert page.locator('.words').text_content() == 'Look'
    world.wait_for_state(session, 'idle')
    page.keyboard.press('ArrowUp')
    assert page.get_by_label('Message', exact=True).input_value() == 'Look'
    world.shot(page, 'pasted-image')


def test_files_are_dropped_anywhere_and_those_that_cannot_be_sent_are_named(world):
    page = world.page()
    page.locator('textarea:focus').wait_for()
    files = [
        ('notes.md', 'text/markdown', b'remember ```this```\n'), ('tool.bin', 'application/octet-stream', b'\xff\x00'),
        ('bad.png', 'image/png', b'not a picture')]
    hand_over(page, files, 'dragover')
    page.locator('.prompt.dropping').wait_for()
    world.shot(page, 'dropping')
    hand_over(page, files, 'drop')
    page.get_by_text('tool.bin is neither text nor an image. bad.png is not an image that can be read').wait_for()
    assert page.locator('.chips li').count() == 1
    world.model.reply('Good.')
    session = world.begin(page, 'Read it')
    world.log(page).get_by_text('notes.md, 1 line').click()
    world.log(page).get_by_text('remember ```this```').wait_for()
    world.wait_for_state(session, 'idle')
    assert 'The user attached notes.md:\nremember ```this```' in str(world.model.requests[-1]['messages'][-1]['content'])


def test_a_file_that_is_dropped_where_nothing_takes_it_does_not_lead_away(world):
    page = world.page('#/settings')
    page.get_by_role('heading', name='Policy').wait_for()
    hand_over(page, [('a.txt', 'text/plain', b'a')], 'dragover', 'drop')
    assert page.url.endswith('#/settings')


def test_a_file_alone_is_a_message(world):
    page = world.page()
    page.locator('textarea:focus').wait_for()
    hand_over(page, [('a.txt', 'text/plain', b'only this\n')], 'paste')
    page.get_by_role('button', name='Remove a.txt').wait_for()
    world.model.reply('Short.')
    page.get_by_role('button', name='Send').click()
    world.log(page).get_by_text('a.txt, 1 line').wait_for()
