// Light, dark, or as the system has it. Kept in this browser.

export const THEMES = [['system', 'As the system'], ['light', 'Light'], ['dark', 'Dark']];

export function presentTheme() {
  return document.documentElement.dataset.theme ?? 'system';
}

export function setTheme(theme) {
  if (theme === 'system') {
    localStorage.removeItem('theme');
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem('theme', theme);
    document.documentElement.dataset.theme = theme;
  }
}
