/** Text as flite can say it: ASCII, with signs, dates and units as words. Numbers, times and amounts of dollars it knows itself. */

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

const UNITS: Readonly<Record<string, string>> = {
  km: 'kilometer',
  cm: 'centimeter',
  mm: 'millimeter',
  kg: 'kilogram',
  ml: 'milliliter',
  kW: 'kilowatt',
  kWh: 'kilowatt hour',
  MB: 'megabyte',
  GB: 'gigabyte',
  min: 'minute',
  mph: 'mile per hour',
  'km/h': 'kilometer per hour',
  'm/s': 'meter per second',
  '°C': 'degree Celsius',
  '°F': 'degree Fahrenheit',
  '°': 'degree',
};
const UNIT = new RegExp(
  `(\\d)\\s?(${Object.keys(UNITS)
    .sort((one, other) => other.length - one.length)
    .join('|')})(?![A-Za-z])`,
  'g',
);

const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/&/g, ' and '],
  [/%/g, ' percent '],
  [/\+/g, ' plus '],
  [/=/g, ' equals '],
  [/@/g, ' at '],
  [/#(?=\d)/g, ' number '],
  [/[‘’ʼ`]/g, "'"],
  [/[“”„«»]/g, '"'],
  [/\s[–—]\s|—/g, ', '],
  [/–/g, ' to '],
  [/…/g, '...'],
  [/[×]/g, ' times '],
  [/ß/g, 'ss'],
  [/[æÆ]/g, 'ae'],
  [/[œŒ]/g, 'oe'],
  [/[øØ]/g, 'o'],
  [/[łŁ]/g, 'l'],
  [/[đĐ]/g, 'd'],
];

/** Empty where there is nothing to say. */
export function normalText(text: string): string {
  let said = text
    .replace(/\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b/g, (_, year, month, day) => {
      return `${MONTHS[Number(month) - 1]} ${Number(day)}, ${year}`;
    })
    .replace(/\b([01]?\d|2[0-3]):00\b(?!:)/g, (_, hour) => `${Number(hour)} o'clock`)
    .replace(/([€£])\s?(\d+)(?:[.,](\d\d))?(?!\d)/g, (_, sign, whole, part) => {
      const name = sign === '€' ? 'euro' : 'pound';
      return `${whole} ${name}${whole === '1' ? '' : 's'}${part && part !== '00' ? ` ${part}` : ''}`;
    })
    .replace(/(^|[\s(])-(?=\d)/g, '$1minus ')
    .replace(/−(?=\d)/g, 'minus ');
  said = said.replace(UNIT, (_, digit: string, unit: string, at: number, whole: string) => {
    const one = digit === '1' && !/[\d.,]/.test(whole[at - 1] ?? '');
    const [name, ...rest] = (UNITS[unit] ?? unit).split(' per ');
    const [head = '', ...tail] = [...(name ?? '').split(' ')];
    // `degrees Celsius`, but `kilowatt hours`.
    const plural = tail[0] === 'hour' ? `${head} hours` : [`${head}s`, ...tail].join(' ');
    return `${digit} ${[one ? name : plural, ...rest].join(' per ')}`;
  });
  for (const [sign, word] of SIGNS) said = said.replace(sign, word);
  said = said
    .normalize('NFKD')
    .replace(/[^\x20-\x7e]+/g, (gap) => (/^\p{M}+$/u.test(gap) ? '' : ' '))
    // These are marks of files and programs, not of speech.
    .replace(/[<>[\]{}\\|^_~*]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return /[A-Za-z0-9]/.test(said) ? said : '';
}
