// Writes the reader's own time beside each instant of a page, where it is another than UTC. Pages
// that the server alone renders load it; without it they say UTC.
function write() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    const isWritten = time.nextElementSibling?.className === 'local-time';
    if (isWritten || Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue;
    const two = (number) => String(number).padStart(2, '0');
    const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
    const hour = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
    const local = document.createElement('small');
    local.className = 'local-time';
    local.textContent = ` (${day === time.dateTime.slice(0, 10) ? '' : `${day} `}${hour} local)`;
    time.after(local);
  }
}
write();
// Of what came later.
addEventListener('parts-changed', write);
